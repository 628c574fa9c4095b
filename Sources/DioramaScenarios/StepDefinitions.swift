/// placeholder
public enum Placeholder {}

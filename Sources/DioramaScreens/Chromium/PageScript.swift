import Basics

/// JavaScript that runs in pages.
enum PageScript {
  /// The function by which a page announces a change.
  static let binding = "dioramaPageChanged"

  /// Announces changes of the document, and what can change its appearance without them.
  static let observer = """
    (() => {
      const changed = () => { try { \(binding)(''); } catch {} };
      new MutationObserver(changed).observe(
        document, {subtree: true, childList: true, attributes: true, characterData: true});
      for (const name of ['load', 'DOMContentLoaded', 'readystatechange', 'input', 'change', 'focusin', 'focusout',
                          'toggle', 'scroll', 'transitionend', 'animationend', 'animationstart', 'hashchange'])
        addEventListener(name, changed, {capture: true, passive: true});
      addEventListener('resize', changed);
    })();
    """

  /// Functions that find visible elements.
  private static let library = """
    const isVisible = (element) => element.checkVisibility({visibilityProperty: true, opacityProperty: true})
      && element.getClientRects().length > 0;
    const clean = (text) => (text || '').replace(/\\s+/g, ' ').trim();
    const labels = (element) => [
      element.innerText, element.getAttribute('aria-label'), element.getAttribute('placeholder'),
      ['submit', 'button', 'reset'].includes(element.type) ? element.value : '',
      element.getAttribute('alt'), element.getAttribute('title')
    ].map(clean);
    """

  /// An expression for the first visible element that matches a CSS selector; null without a match.
  static func element(css selector: String) -> String {
    "(() => { \(library) return [...document.querySelectorAll(\(quoted(selector)))].find(isVisible) || null; })()"
  }

  /// An expression for the innermost visible element with a text: one that equals it, else one that contains it. A label
  /// stands for its field.
  static func element(text: String) -> String {
    """
    (() => {
      \(library)
      const wanted = clean(\(quoted(text)));
      const all = [...document.querySelectorAll('body *')].filter(isVisible);
      const innermost = (found) => found.filter((one) => !found.some((other) => other !== one && one.contains(other)))[0];
      const found = innermost(all.filter((one) => labels(one).includes(wanted)))
        || innermost(all.filter((one) => labels(one).some((label) => label.includes(wanted))));
      return (found && found.tagName === 'LABEL' && found.control) || found || null;
    })()
    """
  }

  /// A function of an element: what covers its middle; null if nothing does.
  static let cover = """
    function(x, y) {
      let top = document.elementFromPoint(x, y);
      while (top && top.shadowRoot && top.shadowRoot.elementFromPoint(x, y) !== top)
        top = top.shadowRoot.elementFromPoint(x, y);
      if (!top || this.contains(top) || top.contains(this) || (top.control && top.control === this)) return null;
      return top.outerHTML.slice(0, 120);
    }
    """

  /// A text as a JavaScript literal.
  static func quoted(_ text: String) -> String { String(decoding: JSON.string(text).encoded(), as: UTF8.self) }
}

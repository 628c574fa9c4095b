a.feature
# language: em
📚: 🙈🙉🙊

  📕: 💃
    😐🎸

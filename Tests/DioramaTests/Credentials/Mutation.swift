/// A mistake that somebody may make who writes a credential store.
enum Mutation: String, CaseIterable, Sendable {
  case addOverwrites, addKeepsAndSucceeds, addOverwritesAndFails, addFailsAsFailed
  case updateCreates, updateOfNothingSucceeds, updateKeepsTail, updateDoesNothing
  case setOfNothingFails, setKeeps
  case deleteOfNothingSucceeds, deleteDoesNothing, deleteTakesService, deleteTakesAllGroups
  case readOfNothingIsEmpty, readIsRemembered, readFailsAsFailed
  case losesEmptySecrets, refusesEmptySecrets, cutsAtZero, keepsTextOnly, trimsSecrets, cutsLongSecrets,
    dropsLastLineEnd
  case ignoresGroup, takesAnyGroup, ignoresService, ignoresCase, ignoresUnicodeForm, joinsParts, trimsAccounts
  case listsInAnyOrder, listsBackwards, listsInOrderOfAddition, listsAllServices, listsByPrefix, listsDeleted
  case listsSecrets, listsTwice, listsNoGroups, listFailsWhenEmpty, listForgetsTheFirst
  case takesZeroInKeys, takesEmptyGroups, refusesEmptyAccounts
  case errorTellsSecret, errorHasTwoLines, printsSecrets, dumpsSecrets, reflectsSecrets
  case addsInTwoSteps, deletesInTwoSteps, updatesInTwoSteps
}

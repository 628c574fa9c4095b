Feature: Trouble

  @mode:mock
  Scenario: A broken step
    When the slot is taken twice

  Scenario: A missing step
    When she books 2 slots

  Scenario: An ambiguous step
    When she waits

  @mode:replay @cassette:Cassettes/trouble
  Scenario: A miss
    When the app is launched with "book"
    Then the app prints "booked"

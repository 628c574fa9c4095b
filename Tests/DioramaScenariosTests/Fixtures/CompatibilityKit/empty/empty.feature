Feature: Empty Scenarios
  Sometimes we want to quickly jot down a new scenario without specifying any actual steps
  for what should be executed.

  In this instance we want to stipulate what should / shouldn't run and what the output is.

  Scenario: Blank Scenario

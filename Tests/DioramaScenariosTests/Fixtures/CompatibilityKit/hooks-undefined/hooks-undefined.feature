Feature: Hooks - With Undefined Steps
  Hooks also run before and after undefined steps

  Scenario: No tags and a undefined step
    When a step does not exist

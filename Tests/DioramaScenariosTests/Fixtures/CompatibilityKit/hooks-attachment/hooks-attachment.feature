Feature: Hooks - Attachments
  Hooks are special steps that run before or after each scenario's steps.

  Like regular steps, it is possible to attach a file to the output.

  Scenario: With an valid attachment in the hook and a passed step
    When a step passes

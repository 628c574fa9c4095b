Feature: Global hooks with attachments
  Attachments can be captured in BeforeAll and AfterAll hooks.

  Scenario: A scenario
    When a step passes

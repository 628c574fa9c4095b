Feature: Retry - With Ambiguous Steps
  Scenario: Test cases won't retry when the status is AMBIGUOUS
    Given an ambiguous step

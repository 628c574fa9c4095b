Feature: Third feature

  Scenario: First scenario
    Given an order for "pencils"

  Scenario: Second scenario
    Given an order for "rulers"

  Scenario: Third scenario
    Given an order for "paperclips"
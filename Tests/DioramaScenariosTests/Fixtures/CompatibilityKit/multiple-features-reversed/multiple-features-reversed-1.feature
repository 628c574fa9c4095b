Feature: First feature

  Scenario: First scenario
    Given an order for "eggs"

  Scenario: Second scenario
    Given an order for "milk"

  Scenario: Third scenario
    Given an order for "bread"
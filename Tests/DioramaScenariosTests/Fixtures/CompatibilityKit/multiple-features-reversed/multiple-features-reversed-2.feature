Feature: Second feature

  Scenario: First scenario
    Given an order for "batteries"

  Scenario: Second scenario
    Given an order for "light bulbs"

  Scenario: Third scenario
    Given an order for "fuses"
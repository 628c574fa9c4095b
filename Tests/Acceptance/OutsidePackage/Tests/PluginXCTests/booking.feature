Feature: Booking

  Scenario Outline: Books <count> slots
    When Ada books <count> slots
    Then she has <count> slots

    Examples:
      | count |
      | 1     |
      | 2     |

  Scenario: A wrong expectation
    Then she has 1 slot

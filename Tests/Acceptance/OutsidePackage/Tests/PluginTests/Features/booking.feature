Feature: Booking

  Rule: Slots are free or taken

    Scenario Outline: <name> books <count> slots
      When <name> books <count> slots
      Then she has <count> slots

      Examples:
        | name | count |
        | Ada  | 1     |
        | Zoë  | 2     |

  Scenario: Nothing is booked
    Then she has 0 slots

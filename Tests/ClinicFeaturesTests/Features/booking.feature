Feature: Booking
  A patient books the first free slot of the day, without leaving the sofa.

  @frozen:2018-10-08T09:20Z @seed:recording-2018
  Scenario: A new patient books a slot
    When the app is launched with "book"
    Then the app prints "registered z0r1lpyugt7o@example.com"
    And the app prints "booked 2018-10-08T10:00:00Z"
    And the app prints "confirmation of"
    And the app exits with 0
    And the app has asked for "POST /v1/appointments" 1 time
    And the app has asked for "GET /v1/appointments/{id}/confirmation.pdf"
    But the app has not asked for "/v1/prescriptions"

  Scenario Outline: The first slot is in the future
    When the app is launched with "book"
    Then the app prints "booked <slot>"
    And the app exits with 0

    @frozen:2018-10-08T09:59Z
    Examples: Early in the day
      | slot                 |
      | 2018-10-08T10:00:00Z |

    @frozen:2018-10-08T11:45Z
    Examples: Before noon
      | slot                 |
      | 2018-10-08T12:00:00Z |

  @frozen:2018-10-09T09:20Z
  Scenario: All slots are in the past
    When the app is launched with "book"
    Then the app prints the error "every slot is in the past"
    And the app exits with 1
    And the app has not asked for "POST /v1/appointments"

  @frozen:2018-10-08T09:20Z
  Rule: A newcomer is welcomed

    @toggle:skip-onboarding=false
    Scenario: The first launch
      When the app is launched with "book"
      Then the app prints "Welcome to Clinic."
      And the app exits with 0

    Scenario: Any later launch
      When the app is launched with "book"
      Then the app exits with 0
      And the app has not printed "Welcome"

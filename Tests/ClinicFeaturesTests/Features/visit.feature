@manual @frozen:2018-10-08T09:00Z
Feature: Visit
  What a patient tells a doctor stays private: a session ends after 15 minutes.

  Background:
    Given a patient with the PIN "1234" is signed in

  Scenario: The PIN opens the next session
    When 15 minutes pass once the app is waiting
    Then the app prints "your session ended"
    When the user enters "1234"
    Then the app prints "signed in"
    And the clock shows 2018-10-08T09:15Z
    And the app has asked for "POST /v1/sessions" 2 times

  Scenario: A wrong PIN, three times
    When 900 seconds pass once the app is waiting
    And the user enters "0000"
    And the user enters "1111"
    And the user enters "2222"
    Then the app prints "that is not your PIN"
    And the app prints "good-bye"
    And the app exits with 0

  Scenario: A session lasts for its whole time
    When 14 minutes and 59 seconds pass once the app is waiting
    Then the app has not printed "your session ended"
    When 1 second passes once the app is waiting
    Then the app prints "your session ended"

  @toggle:never-ask-for-pin
  Scenario: The toggle turns the PIN off
    When 15 minutes pass once the app is waiting
    Then the app prints "your session ended"
    And the app prints "signed in"
    And the app has not printed "log in with your PIN"

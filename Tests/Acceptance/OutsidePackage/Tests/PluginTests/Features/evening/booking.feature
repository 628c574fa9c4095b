# Another feature has the same file name and title.
# Its scenarios begin at other lines.
#
#
#
#
#
#
#
#
#
#
#
#
#
#
Feature: Booking

  Scenario: Nothing is booked
    Then she has 0 slots

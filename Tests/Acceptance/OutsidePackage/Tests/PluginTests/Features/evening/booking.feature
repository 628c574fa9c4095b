# A file and a feature of the same names as others.
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

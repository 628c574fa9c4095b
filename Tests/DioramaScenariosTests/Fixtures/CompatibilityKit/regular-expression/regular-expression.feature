Feature: regular expression
  
  Cucumber supports both Cucumber and regular expressions in step
  definitions. This shows a sample that uses a regular expression.
  
  Scenario: regular expression
    Given a cucumber
    Given a cucumber and a zucchini
    Given a cucumber and a zucchini and a gourd

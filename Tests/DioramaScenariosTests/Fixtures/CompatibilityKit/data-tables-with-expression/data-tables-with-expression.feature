Feature: Data Tables
  Data Tables  can be combined with Cucumber expressions. The arguments from the
  Cucumber expression are provided before the data table.

  Scenario: a table with a Cucumber expression
    Given a "Cucumber" with a table
      | Species | Cucumis sativus |

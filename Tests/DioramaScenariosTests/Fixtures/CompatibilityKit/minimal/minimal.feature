Feature: minimal
  
  Cucumber doesn't execute this markdown, but @cucumber/react renders it.
  
  * This is
  * a bullet
  * list
  
  Scenario: cukes
    Given I have 42 cukes in my belly

// Cucumber messages, and the reports made of them.

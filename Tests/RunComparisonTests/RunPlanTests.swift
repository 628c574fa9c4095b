import Testing

@testable import RunComparison

@Suite("The schedule of verify")
struct RunPlanTests {
  @Test("has the runs in order, the first two alone, and others in pairs")
  func pairs() {
    let plan = RunPlan(runs: 7, isStressed: false, isSequential: false)
    #expect(plan.groups.map { $0.map(\.run) } == [[1], [2], [3, 4], [5, 6], [7]])
    #expect(plan.all.map(\.beside) == [0, 0, 1, 1, 1, 1, 0])
    #expect(plan.all.allSatisfy { !$0.isBusy && $0.nice == 0 && $0.processor == nil })
  }

  @Test("disturbs each of the other runs in another way")
  func stress() {
    let plan = RunPlan(runs: 6, isStressed: true, isSequential: false)
    #expect(plan.all.map(\.isUndisturbed) == [true, true, false, false, false, false])
    #expect(
      plan.all.map(\.text) == [
        "alone", "alone", "beside 1 other, on one processor", "beside 1 other, with busy processors",
        "beside 1 other, nice 10, with busy processors", "beside 1 other, on one processor, with busy processors",
      ])
    #expect(RunPlan(runs: 2, isStressed: true, isSequential: false).all.last?.isUndisturbed == false)
  }

  @Test("has one run at a time if ports are fixed")
  func sequential() {
    #expect(RunPlan(runs: 5, isStressed: true, isSequential: true).groups.allSatisfy { $0.count == 1 })
  }
}

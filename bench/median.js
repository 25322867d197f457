/** The middle one of some numbers; of an even number of them, the larger of the two in the middle. */
export function median (numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]
}

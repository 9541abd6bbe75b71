/** Stops the program in a debugger. */

/** Stops in the debugger that is attached. Does nothing without one. */
export const pause = (): void => {
  debugger
}

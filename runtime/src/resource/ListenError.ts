/** Errors of a server that cannot listen on its address. */

/** The code of a system error, such as `EADDRINUSE`. */
export const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined)

/** One line with the reason why a process cannot listen. */
export const reasonOf = (error: unknown): string => {
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return "another process listens there"
    case "EACCES":
      return "no permission to listen on this port"
    case "EADDRNOTAVAIL":
      return "this machine has no such address"
    default:
      return error instanceof Error ? error.message : String(error)
  }
}

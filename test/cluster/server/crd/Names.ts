/** Names of kinds, resources and versions. */

/** What is wrong with a DNS label that has to begin with a letter (RFC 1035), in the words of apimachinery. */
export const label1035 = (text: string): ReadonlyArray<string> => [
  ...(text.length > 63 ? ["must be no more than 63 bytes"] : []),
  ...(/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(text) ? [] : [problem])
]

const problem =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"

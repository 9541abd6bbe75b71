/**
 * Kubeconfig files.
 */

/** The cluster and the user of a kubeconfig. Certificates and keys are PEM. */
export interface Access {
  readonly server: string
  /** The CA certificate of the API server; undefined if the system trusts the API server's CA. */
  readonly ca: string | undefined
  readonly user: string
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly token?: string | undefined
}

/** Returns a kubeconfig (YAML) with one cluster, one user and one context. It embeds all data. */
export const render = (access: Access): string => {
  const line = (name: string, value: string | undefined): ReadonlyArray<string> =>
    value === undefined ? [] : [`${name}: ${value}`]
  const cluster = [
    ...line("server", JSON.stringify(access.server)),
    ...line("certificate-authority-data", encoded(access.ca))
  ]
  const user = [
    ...line("client-certificate-data", encoded(access.cert)),
    ...line("client-key-data", encoded(access.key)),
    ...line("token", access.token === undefined ? undefined : JSON.stringify(access.token))
  ]
  return `apiVersion: v1
kind: Config
clusters:
  - name: envtest
    cluster:
      ${cluster.join("\n      ")}
users:
  - name: ${JSON.stringify(access.user)}
    user:
      ${user.join("\n      ")}
contexts:
  - name: envtest
    context:
      cluster: envtest
      user: ${JSON.stringify(access.user)}
current-context: envtest
`
}

const encoded = (pem: string | undefined): string | undefined =>
  pem === undefined ? undefined : Buffer.from(pem).toString("base64")

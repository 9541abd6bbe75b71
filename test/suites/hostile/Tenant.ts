/** Objects of a tenant with the permissions of `edit` in a namespace. */

/** A Deployment with no replicas and a size of about `bytes`. */
export const deployment = (bytes: number, metadata: object) => ({
  metadata,
  spec: {
    replicas: 0,
    selector: { matchLabels: { a: "b" } },
    template: {
      metadata: { labels: { a: "b" } },
      spec: {
        containers: [
          {
            name: "c",
            image: "registry.test/c:1",
            env: [{ name: "A", value: "x".repeat(bytes) }]
          }
        ]
      }
    }
  }
})

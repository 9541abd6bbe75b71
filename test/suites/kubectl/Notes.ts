/** A small custom kind with rules, defaults, columns, selectable fields, status and scale. */
const text = { type: "string" }

export const notes = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "notes.kubectl.example.com" },
  spec: {
    group: "kubectl.example.com",
    scope: "Namespaced",
    names: { plural: "notes", singular: "note", kind: "Note", listKind: "NoteList", shortNames: ["nt"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {}, scale: { specReplicasPath: ".spec.copies", statusReplicasPath: ".status.copies" } },
        selectableFields: [{ jsonPath: ".spec.color" }],
        additionalPrinterColumns: [
          { name: "Text", type: "string", jsonPath: ".spec.text" },
          { name: "Stars", type: "integer", jsonPath: ".spec.stars" },
          { name: "Color", type: "string", jsonPath: ".spec.color", priority: 1 },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }
        ],
        schema: {
          openAPIV3Schema: {
            description: "Something to remember.",
            type: "object",
            required: ["spec"],
            properties: {
              spec: {
                description: "What is to be remembered.",
                type: "object",
                required: ["text"],
                properties: {
                  text: { ...text, description: "The words.", minLength: 1, maxLength: 20 },
                  stars: { type: "integer", minimum: 1, maximum: 5, default: 3, description: "How much it matters." },
                  color: {
                    ...text,
                    enum: ["red", "green"],
                    "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "color is for ever" }]
                  },
                  copies: { type: "integer" },
                  tags: {
                    type: "array",
                    items: {
                      type: "object",
                      required: ["name"],
                      properties: { name: text, value: text }
                    },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"]
                  }
                }
              },
              status: {
                type: "object",
                properties: {
                  copies: { type: "integer" },
                  conditions: {
                    type: "array",
                    items: {
                      type: "object",
                      required: ["type", "status"],
                      properties: { type: text, status: text, reason: text, message: text }
                    }
                  }
                }
              }
            }
          }
        }
      }
    ]
  }
}

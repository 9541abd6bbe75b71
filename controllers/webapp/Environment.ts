/** The environment variables of a WebApp's container. */
import * as Field from "@homeostat/runtime/resource/Field"
import * as Schema from "effect/Schema"

/** The CRD rejects what a Deployment would reject, so that the user sees the mistake at once. */
const reference = (what: string) =>
  Schema.Struct({
    name: Schema.String.check(
      Schema.isMaxLength(253),
      Schema.isPattern(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
    ).annotate({ description: `The name of the ${what}.` }),
    key: Schema.String.check(
      Schema.isMaxLength(253),
      Schema.isPattern(/^([-_a-zA-Z0-9]|[.][-_a-zA-Z0-9])[-._a-zA-Z0-9]*$/)
    ).annotate({ description: `The key in the ${what}.` }),
    optional: Schema.optionalKey(Schema.Boolean).annotate({
      description: `The container starts even where the ${what} or its key is missing.`
    })
  })

const podField =
  /^(metadata[.](name|namespace|uid)|metadata[.](labels|annotations)\['([a-zA-Z0-9][-a-zA-Z0-9.]*\/)?[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?'\]|spec[.](nodeName|serviceAccountName)|status[.](hostIP|hostIPs|podIP|podIPs))$/

/** One variable: a value, or its source. */
export const EnvVar = Schema.Struct({
  name: Schema.String.check(
    Schema.isMaxLength(253),
    Schema.isPattern(/^([-_a-zA-Z]|[.][-_a-zA-Z0-9])[-._a-zA-Z0-9]*$/)
  ).annotate({
    description: "The name of the environment variable."
  }),
  value: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4096))).annotate({
    description: "Its value, as it stands."
  }),
  valueFrom: Schema.optionalKey(
    Schema.Struct({
      configMapKeyRef: Schema.optionalKey(reference("ConfigMap")).annotate({
        description: "A key of a ConfigMap."
      }),
      secretKeyRef: Schema.optionalKey(reference("Secret")).annotate({
        description: "A key of a Secret."
      }),
      fieldRef: Schema.optionalKey(
        Schema.Struct({
          fieldPath: Schema.String.check(Schema.isMaxLength(400), Schema.isPattern(podField)).annotate({
            description: "The field of the pod, such as metadata.name or status.podIP."
          })
        })
      ).annotate({ description: "A field of the pod." })
    }).pipe(
      Field.rule({
        // Narrowing accepts this form: objects without `fieldRef` keep their rule.
        rule: "has(self.fieldRef) ? !has(self.configMapKeyRef) && !has(self.secretKeyRef) : (has(self.configMapKeyRef) != has(self.secretKeyRef))",
        message: "set exactly one of configMapKeyRef, secretKeyRef and fieldRef"
      })
    )
  ).annotate({
    description: "Its value, read when a pod starts: from a ConfigMap or Secret of the same namespace, or from the pod."
  })
}).pipe(
  Field.rule({
    rule: "!(has(self.value) && has(self.valueFrom))",
    message: "set either value or valueFrom"
  })
)

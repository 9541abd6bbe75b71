/** Deletions. */
import { until, type Walk } from "../Walk.ts"

const web = (name: string) => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  replicas: 1
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
`

const owned = (name: string) => [`kubectl create -f ${name}.yaml`, `kubectl rollout status deploy/${name} | tail -1`]

export const walks: ReadonlyArray<Walk> = [
  {
    name: "delete --cascade deletes dependents in the background, before the owner, or not at all",
    files: { "back.yaml": web("back"), "fore.yaml": web("fore"), "orphan.yaml": web("orphan") },
    steps: [
      ...["back", "fore", "orphan"].flatMap(owned),
      "kubectl delete deploy back --cascade=background",
      until("kubectl get rs,pods -l app=back", /^$/),
      "kubectl delete deploy fore --cascade=foreground",
      "kubectl get rs,pods -l app=fore",
      "kubectl delete deploy orphan --cascade=orphan",
      "kubectl get deploy",
      "kubectl get rs -l app=orphan",
      "kubectl get rs -l app=orphan -o jsonpath='{.items[*].metadata.ownerReferences}'",
      "kubectl delete rs -l app=orphan --cascade=orphan",
      "kubectl get rs,pods -l app=orphan",
      "kubectl delete pods -l app=orphan",
      "kubectl delete pods -l app=orphan",
      "kubectl delete deploy nothing --cascade=foreground",
      "kubectl delete deploy --all --cascade=sideways"
    ]
  },
  {
    name: "the deletion of an object waits for its finalizer",
    files: {
      "held.yaml": `apiVersion: v1
kind: ConfigMap
metadata: {name: held, finalizers: [example.com/hold]}
`
    },
    steps: [
      "kubectl create -f held.yaml",
      "kubectl delete cm held --wait=false",
      "kubectl delete cm held --timeout=2s",
      "kubectl get cm held -o jsonpath='{.metadata.finalizers} {.metadata.deletionGracePeriodSeconds}'",
      "kubectl create -f held.yaml",
      "kubectl label cm held a=b",
      `kubectl patch cm held -p '{"metadata":{"finalizers":["example.com/hold","example.com/other"]}}'`,
      `kubectl patch cm held --type=json -p '[{"op":"remove","path":"/metadata/finalizers"}]'`,
      "kubectl get cm held"
    ]
  },
  {
    name: "the deletion of a namespace deletes its objects",
    files: { "web.yaml": web("web") },
    steps: [
      'echo \'{"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"walked-"}}\' | kubectl create -f - -o name > name; cut -c1-17 name',
      "kubectl get $(cat name) -o yaml",
      until("kubectl -n $(cut -d/ -f2 name) get cm,sa", /default/),
      "kubectl describe $(cat name)",
      "kubectl -n $(cut -d/ -f2 name) apply -f web.yaml",
      "kubectl -n $(cut -d/ -f2 name) rollout status deploy/web | tail -1",
      "kubectl delete $(cat name) --wait=false",
      "kubectl -n $(cut -d/ -f2 name) apply -f web.yaml 2>&1 | grep -o 'because it is being terminated' | head -1",
      "kubectl wait $(cat name) --for=delete > /dev/null",
      "kubectl get $(cat name)",
      "kubectl -n $(cut -d/ -f2 name) get all"
    ]
  }
]

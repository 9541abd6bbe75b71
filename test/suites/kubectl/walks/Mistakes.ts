/** Mistakes and their error messages. */
import { until, type Walk } from "../Walk.ts"

const note = (spec: string, name = "milk", version = "v1") =>
  `apiVersion: kubectl.example.com/${version}\nkind: Note\nmetadata: {name: ${name}}\nspec: ${spec}\n`

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1"}]}
`

export const walks: ReadonlyArray<Walk> = [
  {
    name: "the server refuses invalid custom objects in the same words",
    files: {
      "good.yaml": note("{text: milk, color: red}"),
      "unknown.yaml": note("{text: milk, size: 3}"),
      "type.yaml": note("{text: 3, stars: many}"),
      "missing.yaml": note("{stars: 2}"),
      "range.yaml": note("{text: '', stars: 9, color: blue}"),
      "twice.yaml": note("{text: milk, tags: [{name: a}, {name: a}]}"),
      "name.yaml": note("{text: milk}", "Milk_1"),
      "version.yaml": note("{text: milk}", "milk", "v9"),
      "kind.yaml": note("{text: milk}").replace("Note", "Notion"),
      "green.yaml": note("{text: milk, color: green}"),
      "broken.yaml": "apiVersion: v1\nkind: [",
      "nameless.yaml": "apiVersion: kubectl.example.com/v1\nkind: Note\nmetadata: {}\nspec: {text: milk}\n",
      "kindless.yaml": "apiVersion: v1\nmetadata: {name: x}\n",
      "duplicate.yaml": note("{text: milk, text: milk}")
    },
    steps: [
      until("kubectl explain note", /DESCRIPTION/),
      ...[
        "unknown",
        "type",
        "missing",
        "range",
        "twice",
        "name",
        "version",
        "kind",
        "broken",
        "nameless",
        "kindless"
      ].map((file) => `kubectl create -f ${file}.yaml`),
      "kubectl create -f duplicate.yaml",
      "kubectl create -f unknown.yaml --validate=warn",
      "kubectl delete note milk",
      "kubectl create -f unknown.yaml --validate=false",
      "kubectl delete note milk",
      "kubectl apply -f unknown.yaml",
      "kubectl apply --server-side -f unknown.yaml",
      "kubectl apply --server-side -f type.yaml",
      "kubectl apply --server-side -f twice.yaml",
      "kubectl replace -f good.yaml",
      "kubectl create -f good.yaml",
      "kubectl create -f good.yaml",
      "kubectl replace -f green.yaml",
      "kubectl apply -f green.yaml",
      "kubectl apply --server-side -f green.yaml",
      "kubectl apply -f range.yaml",
      "kubectl get note milk -o yaml > stale.yaml; kubectl label note milk a=b; kubectl replace -f stale.yaml",
      "kubectl label note milk a=c --overwrite --resource-version=1",
      `kubectl patch note milk --type=merge -p '{"spec":{"stars":"x"}}'`,
      `kubectl patch note milk --type=merge -p '{"spec":{"text":null}}'`,
      `kubectl patch note milk --type=merge -p '{"metadata":{"name":"other"}}'`,
      `kubectl patch note milk --type=merge -p '{"metadata":{"uid":"other"}}'`,
      `kubectl patch note milk --type=json -p '[{"op":"test","path":"/spec/text","value":"x"}]'`,
      `kubectl patch note milk --type=json -p '[{"op":"remove","path":"/spec/nothing"}]'`,
      `kubectl patch note milk --type=json -p '{"op":"remove"}'`,
      "kubectl patch note milk --type=merge -p 'nonsense'",
      "kubectl patch note nothing --type=merge -p '{}'",
      "kubectl scale note/milk --replicas=-1",
      "kubectl scale note/nothing --replicas=1",
      "kubectl label note milk 'b/c/d=e'",
      `kubectl annotate note milk 'a b=c'`,
      "kubectl get note nothing",
      "kubectl delete note nothing",
      "kubectl describe note nothing",
      "kubectl get note milk -n nothing",
      "kubectl create -f good.yaml -n nothing",
      "kubectl edit note nothing"
    ]
  },
  {
    name: "the server refuses invalid built-in objects in the same words",
    files: {
      "web.yaml": deployment,
      "unknown.yaml": deployment.replace("replicas: 0", "replica: 0"),
      "type.yaml": deployment.replace("replicas: 0", "replicas: three"),
      "duplicate.yaml": deployment.replace("replicas: 0", "replicas: 0\n  replicas: 1"),
      "selector.yaml": deployment.replace("{app: web}}\n  template", "{app: other}}\n  template"),
      "changed.yaml": deployment.replaceAll("app: web", "app: other"),
      "negative.yaml": deployment.replace("replicas: 0", "replicas: -1"),
      "bare.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: bare}\n",
      "old.yaml": deployment.replace("apps/v1", "extensions/v1beta1"),
      "policy.yaml": deployment.replace("{containers", "{restartPolicy: Sometimes, containers"),
      "pod.yaml": `apiVersion: v1
kind: Pod
metadata: {name: one}
spec:
  containers:
  - {name: a, image: i, ports: [{containerPort: 99999}], resources: {requests: {cpu: much}}}
  - {name: a, image: ""}
`,
      "fine.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: fine}\nspec: {containers: [{name: a, image: i}]}\n",
      "service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {type: Nothing, ports: [{port: 0}]}\n",
      "portless.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: 1s}\nspec: {selector: {a: b}}\n",
      "job.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {completions: -1, template: {spec: {containers: [{name: a, image: i}]}}}
`,
      "secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: '%%'}\n",
      "map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {'a b': c, n: 3}\n",
      "key.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {'a b': c}\n",
      "namespace.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: elsewhere}\n",
      "label.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {a: b c, 'd/e/f': g}}\n"
    },
    steps: [
      ...[
        "unknown",
        "type",
        "duplicate",
        "selector",
        "negative",
        "bare",
        "old",
        "policy",
        "pod",
        "service",
        "portless",
        "job",
        "secret",
        "map",
        "key",
        "namespace",
        "label"
      ].map((file) => `kubectl create -f ${file}.yaml`),
      "kubectl create -f unknown.yaml --validate=warn",
      "kubectl delete deploy web",
      "kubectl apply -f unknown.yaml",
      "kubectl apply --server-side -f unknown.yaml",
      "kubectl apply --server-side -f type.yaml",
      "kubectl apply -f web.yaml",
      "kubectl apply -f changed.yaml",
      "kubectl apply -f type.yaml",
      "kubectl apply -f negative.yaml",
      "kubectl replace -f bare.yaml",
      "kubectl get deploy web -o yaml > stale.yaml; kubectl label deploy web a=b; kubectl replace -f stale.yaml",
      "kubectl scale deploy web --replicas=-2",
      "kubectl scale deploy web --replicas=3 --current-replicas=7",
      "kubectl scale deploy nothing --replicas=3",
      "kubectl set image deploy/web nothing=nginx",
      "kubectl set image deploy/web web=",
      "kubectl rollout status deploy/nothing",
      "kubectl rollout undo deploy/web --to-revision=9",
      "kubectl rollout restart configmap/x",
      "kubectl create -f fine.yaml",
      `kubectl patch pod fine -p '{"spec":{"nodeName":"other","containers":[{"name":"a","env":[{"name":"X"}]}]}}' 2>&1 | head -1`,
      `kubectl patch pod fine --type=json -p '[{"op":"add","path":"/spec/containers/0","value":{}}]' 2>&1 | head -2`,
      `kubectl patch deploy web -p '{"spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}'`,
      `kubectl patch deploy web -p '{"spec":{"replicas":"x"}}'`,
      `kubectl patch deploy web --type=apply -p '{}'`,
      "kubectl logs nothing",
      "kubectl delete ns default",
      "kubectl delete pod/nothing deploy/nothing",
      "kubectl create -f map.yaml -n nothing",
      "kubectl get pods -n nothing",
      "kubectl get pods --field-selector nothing=x",
      "kubectl get pods -l 'a=(b'"
    ]
  }
]

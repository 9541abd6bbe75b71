/** Custom kinds. */
import { managersOf, until, type Walk, watching } from "../Walk.ts"

const note = `apiVersion: kubectl.example.com/v1
kind: Note
metadata:
  name: milk
spec:
  text: buy milk
  color: red
  tags:
  - name: where
    value: shop
`

const shop = `apiVersion: apps.kubedojo.io/v1beta1
kind: WebApp
metadata:
  name: shop
  labels: {team: sales}
spec:
  image: nginx:1.27
  env:
  - name: MODE
    value: fast
`

const status = JSON.stringify({
  status: { copies: 2, conditions: [{ type: "Ready", status: "True", reason: "Bought", message: "there is milk" }] }
})

export const walks: ReadonlyArray<Walk> = [
  {
    name: "a custom object is created, shown, changed and deleted",
    files: { "note.yaml": note, "shop.yaml": shop, "more.yaml": shop.replace("fast", "slow\n  replicas: 3") },
    steps: [
      until("kubectl explain note", /DESCRIPTION/),
      "kubectl create -f note.yaml --dry-run=server -o yaml",
      "kubectl create -f note.yaml",
      "kubectl get notes",
      "kubectl get nt -o wide",
      "kubectl get note milk -o yaml",
      "kubectl get note milk -o json",
      "kubectl get notes -o yaml",
      "kubectl get notes --field-selector spec.color=red",
      "kubectl get notes --field-selector spec.color=green",
      "kubectl get notes --field-selector spec.text=x",
      "kubectl get notes --sort-by=.spec.stars",
      "kubectl get notes.kubectl.example.com/milk notes.v1.kubectl.example.com/milk",
      "kubectl describe note milk",
      `kubectl patch note milk --type=merge -p '{"spec":{"stars":5}}'`,
      `kubectl patch note milk -p '{"spec":{"stars":5}}'`,
      `kubectl patch note milk --type=json -p '[{"op":"add","path":"/spec/tags/-","value":{"name":"when"}}]'`,
      `kubectl patch note milk --subresource=status --type=merge -p '${status}'`,
      "kubectl wait note/milk --for=condition=Ready",
      "kubectl wait note/milk --for=condition=Ready=False --timeout=2s",
      "kubectl wait note/milk --for=jsonpath='{.status.copies}'=2",
      "kubectl get note milk --subresource=status -o yaml",
      "kubectl scale note/milk --replicas=4",
      "kubectl scale note/milk --replicas=4 --current-replicas=1",
      "kubectl get note milk --subresource=scale -o yaml",
      "kubectl label note milk a=b",
      "kubectl annotate notes --all c=d",
      "KUBE_EDITOR='sed -i s/stars:.5/stars:\\ 1/' kubectl edit note milk",
      "KUBE_EDITOR='sed -i s/stars:.1/stars:\\ 9/' kubectl edit note milk 2>&1 | grep -v tmp",
      managersOf("note milk"),
      "kubectl replace -f note.yaml",
      "kubectl replace -f note.yaml --force",
      "kubectl get notes",
      watching("kubectl get notes -w -o wide --output-watch-events", /DELETED/, {
        after: /milk/,
        line: "kubectl scale note milk --replicas=7 && kubectl delete note milk"
      }),
      "kubectl get notes",
      "kubectl get notes -o yaml",
      "kubectl delete note milk"
    ]
  },
  {
    name: "a WebApp is applied by the client and by the server",
    files: { "shop.yaml": shop, "more.yaml": shop.replace("fast", "slow\n  replicas: 3") },
    steps: [
      until("kubectl explain webapp", /DESCRIPTION/),
      "kubectl apply -f shop.yaml",
      "kubectl apply -f shop.yaml",
      "kubectl diff -f more.yaml | grep '^[-+] '",
      "kubectl apply -f more.yaml",
      "kubectl get wa",
      "kubectl get wa,notes",
      managersOf("webapp shop"),
      "kubectl describe webapp shop",
      "kubectl scale wa shop --replicas=2",
      "kubectl apply --server-side -f more.yaml",
      "kubectl apply --server-side -f more.yaml --field-manager=other",
      "sed s/slow/quick/ more.yaml | kubectl apply --server-side -f - --field-manager=other",
      "sed s/slow/quick/ more.yaml | kubectl apply --server-side -f - --field-manager=other --force-conflicts",
      managersOf("webapp shop"),
      "kubectl set image wa/shop a=b",
      "kubectl get all",
      "kubectl delete -f shop.yaml",
      "kubectl get all"
    ]
  },
  {
    name: "a definition is shown, and its deletion removes its kind",
    files: {
      "crd.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.walk.example.com}
spec:
  group: walk.example.com
  scope: Cluster
  names: {plural: toys, kind: Toy}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`,
      "toy.yaml": "apiVersion: walk.example.com/v1\nkind: Toy\nmetadata: {name: bear}\nsize: 3\n"
    },
    steps: [
      "kubectl apply -f crd.yaml",
      "kubectl wait crd/toys.walk.example.com --for=condition=Established",
      "kubectl get crd toys.walk.example.com -o yaml",
      "kubectl describe crd toys.walk.example.com",
      until("kubectl apply -f toy.yaml", /bear/),
      "kubectl get toys",
      "kubectl get toys bear -o yaml",
      "kubectl delete -f crd.yaml",
      "kubectl get crd toys.walk.example.com",
      "kubectl get crd notes.kubectl.example.com webapps.apps.kubedojo.io"
    ]
  }
]

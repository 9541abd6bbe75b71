/** Objects without controllers. */
import { managersOf, until, type Walk, watching } from "../Walk.ts"

const settings = `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels: {app: shop}
data:
  mode: fast
  motd: |
    hello
    world
`

const secret = `apiVersion: v1
kind: Secret
metadata:
  name: keys
stringData:
  token: s3cret
`

const several = `${settings.replace("settings", "one")}---
${settings.replace("settings", "two")}---
${secret.replace("keys", "three")}`

export const walks: ReadonlyArray<Walk> = [
  {
    name: "ConfigMaps and Secrets are created, shown, changed and deleted",
    files: {
      "settings.yaml": settings,
      "slow.yaml": settings.replace("fast", "slow"),
      "secret.yaml": secret,
      "several.yaml": several,
      "secret.json": JSON.stringify({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "sealed" },
        immutable: true,
        data: { a: "Yg==" }
      })
    },
    steps: [
      "kubectl create -f settings.yaml --dry-run=server",
      "kubectl create -f settings.yaml",
      "kubectl create -f settings.yaml",
      "kubectl get cm settings",
      "kubectl get cm settings -o yaml",
      "kubectl get cm settings -o json",
      "kubectl get cm settings -o wide --show-labels",
      "kubectl get cm settings -o jsonpath='{.data.mode}'",
      "kubectl get cm settings -o go-template='{{.data.motd}}'",
      "kubectl get cm settings -o custom-columns=NAME:.metadata.name,MODE:.data.mode",
      "kubectl get cm -l app=shop -o name",
      "kubectl get cm -l 'app in (shop,store)' -L app",
      "kubectl get cm -l app!=shop -o name",
      "kubectl get cm --field-selector metadata.name=settings",
      "kubectl describe cm settings",
      "kubectl replace -f slow.yaml",
      managersOf("cm settings"),
      "kubectl label cm settings tier=back",
      "kubectl label cm settings tier=back",
      "kubectl label cm settings tier=front",
      "kubectl label cm settings tier=front --overwrite",
      "kubectl label cm settings tier- nothing-",
      "kubectl label cm --all tier=all",
      "kubectl label cm settings 'tier=a b' --overwrite",
      "kubectl annotate cm settings note='some words' owner=me",
      "kubectl annotate cm settings owner-",
      "kubectl annotate cm settings --list | sort",
      "kubectl label cm settings --list | sort",
      `kubectl patch cm settings -p '{"data":{"mode":"new"}}'`,
      `kubectl patch cm settings -p '{"data":{"mode":"new"}}'`,
      `kubectl patch cm settings --type=json -p '[{"op":"remove","path":"/data/motd"}]'`,
      `kubectl patch cm settings --type=merge -p '{"data":null}'`,
      "kubectl get cm settings -o jsonpath='{.data}'",
      "KUBE_EDITOR='sed -i s/tier:.all/tier:\\ edited/' kubectl edit cm settings",
      "KUBE_EDITOR=true kubectl edit cm settings",
      "kubectl create -f secret.yaml -f secret.json",
      "kubectl get secrets",
      "kubectl get secret keys -o yaml",
      "kubectl describe secret keys",
      `kubectl patch secret sealed -p '{"data":{"a":"Yw=="}}'`,
      `kubectl patch secret keys -p '{"type":"other"}'`,
      "kubectl apply -f several.yaml",
      "kubectl get -f several.yaml",
      "kubectl get cm,secret",
      "kubectl get cm/one secret/three",
      "kubectl get cm one settings missing",
      "kubectl delete -f several.yaml",
      "kubectl delete cm settings missing",
      "kubectl delete cm settings --ignore-not-found",
      "kubectl delete secret --all",
      "kubectl get secret"
    ]
  },
  {
    name: "apply stores the last applied configuration, and diff shows changes",
    files: {
      "settings.yaml": settings,
      "slow.yaml": settings.replace("  mode: fast\n", "").replace("hello", "bye"),
      "many.yaml": several
    },
    steps: [
      "kubectl diff -f settings.yaml | grep -v '^\\(diff\\|---\\|+++\\)'",
      "kubectl apply -f settings.yaml",
      "kubectl apply -f settings.yaml",
      "kubectl diff -f settings.yaml",
      "kubectl diff -f slow.yaml | grep -v '^\\(diff\\|---\\|+++\\)'; kubectl diff -f slow.yaml > /dev/null",
      "kubectl apply -f slow.yaml --dry-run=server -o jsonpath='{.data}'",
      "kubectl apply -f slow.yaml",
      "kubectl apply view-last-applied cm settings",
      "kubectl apply set-last-applied -f settings.yaml",
      "kubectl apply view-last-applied cm settings -o json",
      "kubectl get cm settings -o yaml",
      "kubectl apply -f many.yaml --prune -l app=shop",
      "kubectl get cm -l app=shop -o name",
      "kubectl create cm literal --from-literal=a=1 --dry-run=client -o yaml | kubectl apply -f -",
      "kubectl annotate cm literal kubectl.kubernetes.io/last-applied-configuration-",
      "kubectl create cm literal --from-literal=a=2 --dry-run=client -o yaml | kubectl apply -f -",
      "kubectl apply --server-side -f many.yaml",
      managersOf("cm one"),
      "sed s/fast/mine/ many.yaml | kubectl apply --server-side --field-manager=me -f -",
      "sed s/fast/mine/ many.yaml | kubectl apply --server-side --field-manager=me --force-conflicts -f -",
      "kubectl diff --server-side -f many.yaml | grep '^[-+] '",
      "kubectl apply --server-side -f many.yaml",
      managersOf("cm one")
    ]
  },
  {
    name: "lists are sorted, chunked, and watched",
    files: { "many.yaml": several },
    steps: [
      "for i in c a b; do kubectl create cm $i --from-literal=n=$i --dry-run=client -o yaml | kubectl create -f -; done",
      "kubectl get cm --sort-by=.metadata.name",
      "kubectl get cm --sort-by='{.data.n}' --no-headers | sed 's/ [0-9]*s$//'",
      "kubectl get cm --chunk-size=1",
      "kubectl get cm a b -o yaml | grep -c kind:",
      "kubectl get cm -A --field-selector metadata.name=a",
      "kubectl get cm --field-selector data.n=a",
      "kubectl get cm -l '=x'",
      watching("kubectl get cm -w --output-watch-events --field-selector metadata.name!=kube-root-ca.crt", /DELETED/, {
        after: /c {3}/,
        line: "kubectl label cm a x=y && kubectl delete cm a"
      }),
      watching(`kubectl get cm b -w -o jsonpath='{.metadata.labels}{"\\n"}'`, /x/, {
        after: /\n/,
        line: "kubectl label cm b x=y"
      }),
      until("kubectl get cm kube-root-ca.crt -o jsonpath='{.metadata.annotations}'", /CA bundle/),
      "kubectl wait cm/b --for=jsonpath='{.data.n}'=b",
      "kubectl wait cm/b --for=jsonpath='{.data.n}'=x --timeout=2s",
      "kubectl wait cm/b --for=delete --timeout=2s",
      "(sleep 3; kubectl delete cm b) > /dev/null & kubectl wait cm/b --for=delete",
      "(sleep 1; kubectl apply -f many.yaml) > /dev/null & kubectl wait cm/one --for=create",
      "kubectl wait cm/gone --for=delete",
      "kubectl wait cm/gone --for=jsonpath='{.data.n}'=x",
      "kubectl wait cm --all --for=condition=Ready --timeout=0"
    ]
  }
]

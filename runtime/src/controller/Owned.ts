/**
 * Children: objects that a controller creates for the object that it reconciles.
 *
 * {@link apply} compares the intent (the desired child, an owner reference, and a hash in an annotation) with the cached child. If the
 * child has the whole intent, and no foreign field in a part that the controller owns alone, `apply` sends nothing. Otherwise it sends
 * the whole intent by server-side apply under the field manager of the controller. A JSON patch removes foreign fields.
 *
 * - Fields that the intent does not name stay: sidecars, foreign labels and restart annotations survive.
 * - A field of another manager that excludes a field of the intent, such as another source of a volume, is removed by the same patch.
 * - Server-side apply removes a field that a newer version of the program no longer sets, because the hash changes.
 * - `apply` never changes an object of that name that the owner does not control, cached or not. It fails with {@link NotOwned}. A change
 *   of that object triggers a reconcile of the owner.
 * - The `stringData` of a Secret is applied as `data`, which the API server returns.
 * - Another notation of a value (`1000m` stored as `1`) is not drift. The answers of the server show other changes, such as a pruned
 *   field or a dropped empty value. `apply` sends those again only once after a restart.
 *
 * {@link remove} deletes a child that the owner controls.
 *
 * The controller must declare the kind of the child in `owns`. Otherwise the attempt fails with a permanent error.
 *
 * `apply` needs the permissions to get, list, watch, create and patch the kind of the child. {@link remove} needs the permission to
 * delete it, which {@link kind} declares.
 */
export { apply, type Options } from "./Apply.ts"
export { type Child, keep, type Options as ChildOptions, of as child } from "./Child.ts"
export {
  type Applied,
  all,
  allSettled,
  type Children,
  type Desired,
  type Failed,
  progress,
  type Refused,
  removeAll,
  type State,
  type Waiting
} from "./Children.ts"
export { intentAnnotation } from "./Intent.ts"
export { NotServed } from "./NotServed.ts"
export { type OwnedKind, of as kind } from "./OwnedKind.ts"
export { NotOwned, OwnerGone } from "./Ownership.ts"
export type { Removed } from "./Prune.ts"
export { remove } from "./Removal.ts"
export { TooLarge } from "./TooLarge.ts"

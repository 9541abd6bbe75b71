/** The types of npm's s3rver that the tests use, because s3rver has no types. */
declare module "s3rver" {
  export default class S3rver {
    constructor(options: {
      readonly address: string
      readonly port: number
      readonly directory: string
      readonly cert: Uint8Array
      readonly key: Uint8Array
      readonly silent: boolean
    })
    run(): Promise<unknown>
  }
}

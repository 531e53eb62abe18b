declare module 's3rver' {
  import type { AddressInfo } from 'node:net';

  /** What the tests use of it. The package has no types. */
  export default class S3rver {
    constructor(options: {
      readonly address: string;
      readonly port: number;
      readonly silent: boolean;
      readonly directory: string;
      readonly configureBuckets: readonly { readonly name: string }[];
    });
    readonly httpServer: { closeAllConnections(): void; close(done: () => void): void };
    run(): Promise<AddressInfo>;
  }
}

import S3rver from 's3rver';

/** An S3 server on loopback, with one bucket. It knows one user, whose id and secret are the same word. */
export const S3_CREDENTIALS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

export interface TestS3 {
  readonly endpoint: string;
  readonly close: () => Promise<void>;
}

export async function startS3(directory: string, bucket: string): Promise<TestS3> {
  const fixed = { address: '127.0.0.1', port: 0, silent: true };
  const server = new S3rver({ ...fixed, directory, configureBuckets: [{ name: bucket }] });
  const { port } = await server.run();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    close: async () => {
      server.httpServer.closeAllConnections();
      await new Promise<void>(resolve => server.httpServer.close(resolve));
    },
  };
}

/** The first signal stops the run, which is then sealed. Later signals have no effect. */
export function interruptions() {
  const controller = new AbortController();
  let stopped: { readonly name: string; readonly code: number } | undefined;
  const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  const listeners = Object.entries(codes).map(([name, code]) => {
    const listener = (): void => {
      stopped ??= { name, code };
      controller.abort();
    };
    process.on(name as NodeJS.Signals, listener);
    return [name, listener] as const;
  });
  return {
    signal: controller.signal,
    name: () => stopped?.name,
    exit: () => stopped?.code,
    end: () => {
      for (const [name, listener] of listeners) process.off(name, listener);
    },
  };
}

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type OpenedCase, type Source } from '../../shared/source.ts';
import { wholeTrial } from '../../report/trial-choice.ts';
import { styleMark } from '../style-mark.ts';
import { useAnswer } from '../use-answer.ts';
import { type CaseAnswer, pageRow, type ReportAnswer } from './case-rows.ts';
import { useListedCases } from './use-listed.ts';

/** A report on the server. `version` changes when there is something new to fetch. */
export function useServerSource(path: string, answer: ReportAnswer, version: number): Source {
  /** The open case. */
  const opened = useRef<CaseAnswer | undefined>(undefined);
  return useMemo(() => {
    const head = { ...answer.head, style_mark: styleMark() };
    const { latency, cost } = answer.distributions;
    return {
      head,
      series: () => ({
        latency: [Float64Array.from(latency[0]), Float64Array.from(latency[1])],
        cost: [Float64Array.from(cost[0]), Float64Array.from(cost[1])],
      }),
      urgent: () => ({ rows: answer.urgent.rows.map(row => pageRow(row, head)), total: answer.urgent.total }),
      useListed: (chosen, open) => useListedCases(path, head, version, chosen, open),
      useCase: id => {
        const { value, isAsking } = useCaseAnswer(`${path}/cases/${encodeURIComponent(id)}`, version);
        opened.current = value;
        return { row: value && pageRow(value.row, head), data: value?.case, isAsking };
      },
      trialAt: (id, side, number) => {
        const { current } = opened;
        const found = current?.row.case_id === id ? current.trials[`${side}-${number}`] : undefined;
        return found && wholeTrial(found, current?.case, side);
      },
      idsOf: ({ ids = [] }, max) => ids.slice(0, max),
      coverage: () => null,
      isRead: () => true,
      whenRead: then => then(),
    };
  }, [path, answer, version]);
}

function useCaseAnswer(
  path: string,
  version: number,
): { value: CaseAnswer | undefined } & Pick<OpenedCase, 'isAsking'> {
  const { value, refusal, again } = useAnswer<CaseAnswer>(path);
  const seen = useRef(version);
  useEffect(() => {
    if (seen.current !== version) again();
    seen.current = version;
  }, [version]);
  return { value, isAsking: !value && !refusal };
}

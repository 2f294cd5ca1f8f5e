/** Labels of a run. */
export interface LabelsProps {
  readonly labels: readonly string[];
  /** Maximum number of labels to show, in one line. The number of the others is shown after them. */
  readonly max?: number;
}

export function Labels({ labels, max }: LabelsProps) {
  if (labels.length === 0) return null;
  const shown = labels.slice(0, max);
  const others = labels.slice(shown.length);
  return (
    <ul className="labels" data-one-line={max === undefined ? undefined : ''} aria-label="Labels">
      {shown.map((label) => (
        <li key={label} className="chip" title={label}>
          {label}
        </li>
      ))}
      {others.length === 0 ? null : (
        <li className="labels-others" title={others.join(', ')}>
          +{others.length}
        </li>
      )}
    </ul>
  );
}

/** Labeled fields of forms. All other attributes are passed to the HTML control. */
import { type ComponentProps, type ReactNode, useId } from 'react';

interface FieldProps {
  readonly label: string;
  readonly value: string | number;
  readonly onChange: (value: string) => void;
  /** Whether the value is an id, URL or code. */
  readonly mono?: boolean;
  /** Shown below the control, unless there is a problem. */
  readonly hint?: ReactNode;
  /** Why the value is not valid; null or absent if it is. */
  readonly problem?: string | null | undefined;
  /** Content after the field, such as who set the value. */
  readonly after?: ReactNode;
}

type Props<Tag extends 'input' | 'textarea' | 'select'> = FieldProps &
  Omit<ComponentProps<Tag>, keyof FieldProps | 'id' | 'className'>;

interface ControlProps {
  readonly id: string;
  readonly className: string;
  readonly 'aria-invalid'?: true;
  readonly 'aria-describedby'?: string;
}

function Field({
  label,
  mono,
  hint,
  problem,
  after,
  render,
}: Omit<FieldProps, 'value' | 'onChange'> & { render: (controlProps: ControlProps) => ReactNode }) {
  const id = useId();
  const noteId = useId();
  const isInvalid = problem !== undefined && problem !== null;
  const hasNote = isInvalid || hint !== undefined;
  const control = render({
    id,
    className: mono ? 'input mono' : 'input',
    ...(isInvalid ? { 'aria-invalid': true } : {}),
    ...(hasNote ? { 'aria-describedby': noteId } : {}),
  });
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      {control}
      {hasNote ? (
        <p id={noteId} className={isInvalid ? 'field-error' : 'field-hint'}>
          {isInvalid ? problem : hint}
        </p>
      ) : null}
      {after}
    </div>
  );
}

export function TextField({ label, mono, hint, problem, after, onChange, ...input }: Props<'input'>) {
  return (
    <Field
      {...{ label, mono, hint, problem, after }}
      render={(controlProps) => <input {...input} {...controlProps} onChange={(event) => onChange(event.target.value)} />}
    />
  );
}

export function TextArea({ label, mono, hint, problem, after, onChange, ...area }: Props<'textarea'>) {
  return (
    <Field
      {...{ label, mono, hint, problem, after }}
      render={(controlProps) => <textarea {...area} {...controlProps} onChange={(event) => onChange(event.target.value)} />}
    />
  );
}

/** A labeled select. The children are its options. */
export function SelectField({ label, mono, hint, problem, after, onChange, ...select }: Props<'select'>) {
  return (
    <Field
      {...{ label, mono, hint, problem, after }}
      render={(controlProps) => <select {...select} {...controlProps} onChange={(event) => onChange(event.target.value)} />}
    />
  );
}

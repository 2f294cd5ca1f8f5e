/** The link with the secret of an invitation, the only time that it is shown. */
import { CopyId } from '../../components/copy-id.js';
import { DialogClose, DialogWindow } from '../../components/dialogs.js';

export interface SecretLinkProps {
  readonly email: string;
  readonly secret: string;
  readonly onClose: () => void;
}

export function SecretLink({ email, secret, onClose }: SecretLinkProps) {
  return (
    <DialogWindow title={`Invitation of ${email}`} open onClose={onClose} actions={<DialogClose>Done</DialogClose>}>
      <div className="stack">
        <p>
          Send this link to {email}. It is shown this once, works once, and expires in 7 days. Everyone who has it can accept the
          invitation.
        </p>
        {/* Behind the #, so that it is sent to no server and is in no access log. */}
        <CopyId value={`${window.location.origin}/login#${secret}`} what="invitation link" />
      </div>
    </DialogWindow>
  );
}

/** Shows the link of a new invitation. It is never shown again. */
import { CopyId } from '../../components/copy-id.js';
import { DialogClose, DialogWindow } from '../../components/dialogs.js';

export interface InvitationLinkDialogProps {
  readonly email: string;
  readonly secret: string;
  readonly onClose: () => void;
}

export function InvitationLinkDialog({ email, secret, onClose }: InvitationLinkDialogProps) {
  return (
    <DialogWindow title={`Invitation for ${email}`} open onClose={onClose} actions={<DialogClose>Done</DialogClose>}>
      <div className="stack">
        <p>
          Send this link to {email}. It is shown only once, can be used once, and expires in 7 days. Anyone with the link can
          accept the invitation.
        </p>
        {/* The fragment after # is never sent to a server, so the secret appears in no access log. */}
        <CopyId value={`${window.location.origin}/login#${secret}`} valueName="invitation link" />
      </div>
    </DialogWindow>
  );
}

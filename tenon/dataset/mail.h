// Mail as text: what a reader of the message sees, without its transport.
#pragma once

#include <string>
#include <string_view>

namespace tenon::dataset {

/// The subject, an empty line and the text parts of a message (RFC 5322, MIME), as UTF-8: encoded
/// words, quoted-printable and base64 are decoded, of alternatives the first text is taken, HTML
/// stays as it is, attachments are left out. Bytes that are not UTF-8 are taken as Latin-1. Broken
/// messages give what can be read of them: real mail is often broken.
std::string mail_text(std::string_view message);

}  // namespace tenon::dataset

-- The stored name of a picture is that of its object, a slash, and the name of the file as it was
-- sent. Pictures from before were sent under names that are not known: they are avatar.png or
-- avatar.jpg. Their objects are 32 hexadecimal digits and the extension.
UPDATE users SET avatar = avatar || '/avatar' || substr(avatar, 33) WHERE avatar <> '';
UPDATE groups SET avatar = avatar || '/avatar' || substr(avatar, 33) WHERE avatar <> '';
UPDATE projects SET avatar = avatar || '/avatar' || substr(avatar, 33) WHERE avatar <> '';
UPDATE topics SET avatar = avatar || '/avatar' || substr(avatar, 33) WHERE avatar <> '';

# an operator of the user's own, whose rank nobody told: the rule is what can say it
cat > my.rules <<'RULES'
aten::relu(Tensor self) -> Tensor
    = my.domain::Mine(self)
RULES
pt2onnx net.pt --rules my.rules
